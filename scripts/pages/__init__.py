"""The documentation site: pages that are made from the code when the site is built, and the check of its links.

`mkdocs build --strict` calls `hook.py`; nothing that is made here is committed.
"""
