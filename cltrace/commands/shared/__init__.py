"""Parts that several verbs share: flags, outputs, messages."""
