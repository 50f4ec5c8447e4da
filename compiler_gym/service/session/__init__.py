"""Client-side sessions of a service."""
