"""Parts that several verbs use: flags, outputs, messages."""
