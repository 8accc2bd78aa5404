"""Reports: one self-contained HTML page from one run folder or from several. Reads folders, never live objects."""

from .page import write_report

__all__ = ["write_report"]
