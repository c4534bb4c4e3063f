"""What MkDocs calls: adds the pages that are made from the code, and their places in the navigation."""

import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent.parent.parent))  # `mkdocs` does not look in the current folder

from scripts.pages import command_line, home, rules

RULES, GUIDE = "Rules", "Guide"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Puts the rules into the navigation, by chapter, and pages that stand nowhere in it to the guide."""
    by_chapter: list[Any] = [
        {chapter.title: [{rule.code: f"rules/{rule.code}.md"} for rule in members]}
        for chapter, members in rules.chapters()
    ]
    placed = str(config.nav)
    for entry in config.nav or []:
        if RULES in entry:
            entry[RULES] = ["rules/index.md", *by_chapter]
        if GUIDE in entry:
            entry[GUIDE] += [
                page.name for page in sorted(Path(config.docs_dir).glob("*.md")) if page.name not in placed
            ]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages."""
    pages = {"index.md": home.page(), "command-line.md": command_line.page(), **rules.pages()}
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    return files
