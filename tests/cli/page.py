"""Whether a page of HTML is well-formed, needs no network, runs nothing, and says what its parts are. Prints what is wrong."""

from __future__ import annotations

import html.parser
import sys

VOID = {"meta", "link", "br"}
HEADINGS = {"h1", "h2", "h3", "h4"}


class Checker(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.problems: list[str] = []
        self.ids: set[str] = set()
        self.links: set[str] = set()
        self.level = 0
        self.pictures = 0

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        names = {name: value or "" for name, value in attributes}
        self.check_link(tag, names)
        self.check_names(tag, names)
        if tag in HEADINGS:
            self.check_heading(int(tag[1]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> closes nothing")

    def check_link(self, tag: str, names: dict[str, str]) -> None:
        link = names.get("src") or names.get("href") or "data:"
        if tag == "script" or any(name.startswith("on") for name in names) or not link.startswith(("data:", "#")):
            self.problems.append(f"{tag} is not self-contained")
        if link.startswith("#"):
            self.links.add(link[1:])

    def check_names(self, tag: str, names: dict[str, str]) -> None:
        if "id" in names:
            if names["id"] in self.ids:
                self.problems.append(f"two parts are called {names['id']}")
            self.ids.add(names["id"])
        if tag == "svg" and names.get("role") == "img":
            self.pictures += 1
            if not names.get("aria-label"):
                self.problems.append("a picture without a name")

    def check_heading(self, level: int) -> None:
        if level > self.level + 1:
            self.problems.append(f"h{level} follows h{self.level}")
        self.level = level


def check(page: str) -> Checker:
    checker = Checker()
    checker.feed(page)
    checker.problems += [f"<{tag}> stays open" for tag in checker.open]
    checker.problems += [f"nothing is called {link}" for link in sorted(checker.links - checker.ids)]
    if "\\n" in page:
        checker.problems.append("a line end that is seen")
    if page.count("<h1") != 1:
        checker.problems.append(f"{page.count('<h1')} main headings")
    return checker


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        checked = check(file.read())
    print(checked.problems[:5] or "a page in order", *([f"with {checked.pictures} pictures"] if checked.pictures else []))
