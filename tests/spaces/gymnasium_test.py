"""All spaces pass gymnasium's check of an environment."""
