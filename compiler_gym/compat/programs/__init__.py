"""Programs with flags of absl, by the names and flags of former releases."""
