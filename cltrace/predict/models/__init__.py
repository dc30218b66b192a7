"""The models: each predicts how long a launch takes, from its counts and a device's profile."""
