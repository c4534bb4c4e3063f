"""RM40x to RM48x: what Train V2, the default since Ray 2.51, refuses or does otherwise."""
