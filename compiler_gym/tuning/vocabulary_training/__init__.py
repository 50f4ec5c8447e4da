"""Training of the shipped vocabularies of inst2vec and IR2Vec, see ``__main__.py``."""
