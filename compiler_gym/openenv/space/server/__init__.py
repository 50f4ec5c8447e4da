"""The server that OpenEnv's tools start."""
