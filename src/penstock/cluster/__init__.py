"""Tasks in several processes that run steps together (white paper section 3.3, figure 3)."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
