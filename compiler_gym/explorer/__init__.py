"""The explorer: a page in the browser that shows what each pass does to a program."""
