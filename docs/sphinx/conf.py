"""Sphinx settings of the site. ``build_site.py`` copies this file beside the pages."""

import os
from functools import cache

from reference_pages import PARTS
from sphinx import addnodes
from sphinx.util import inspect

import compiler_gym
from compiler_gym.wrappers import CompilerEnvWrapper

project = "CompilerGym"
author = "The CompilerGym contributors"
copyright = "The CompilerGym contributors, MIT licence"
release = compiler_gym.__version__
language = "en"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "reference_texts",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["sphinx/**"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

autodoc_default_options = {"members": True, "undoc-members": True, "show-inheritance": True}
autodoc_member_order = "groupwise"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_class_signature = "mixed"
autodoc_preserve_defaults = True
autodoc_mock_imports = ["absl", "gym", "stable_baselines3", "torch"]
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
python_use_unqualified_type_names = True
add_module_names = False

# Names of other packages, and modules of this one that are no part of the interface.
nitpicky = True
nitpick_ignore_regex = [
    (r"py:.*", r"(?!compiler_gym).*"),
    (r"py:.*", r"compiler_gym\..*"),
    (r"cpp:.*", r".*"),
]
suppress_warnings = ["toc.empty_glob", "toc.excluded", "ref.python"]

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
pygments_style = "friendly"
pygments_dark_style = "github-dark"

html_theme = "furo"
html_title = f"CompilerGym {release}"
html_static_path = ["sphinx/static"]
html_css_files = ["site.css"]
html_favicon = "sphinx/static/logo.svg"
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "light_logo": "logo.svg",
    "dark_logo": "logo.svg",
    "navigation_with_keys": True,
    "top_of_page_buttons": [],
    "light_css_variables": {
        "color-brand-primary": "#0b6b8f",
        "color-brand-content": "#0b6b8f",
        "font-stack": "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif",
        "font-stack--monospace": "'JetBrains Mono', 'Cascadia Code', 'DejaVu Sans Mono', monospace",
    },
    "dark_css_variables": {
        "color-brand-primary": "#5cc8ee",
        "color-brand-content": "#5cc8ee",
    },
}
# So that two builds of the same sources give the same bytes.
html_last_updated_fmt = None if os.environ.get("SOURCE_DATE_EPOCH") else ""


def without_private_bases(app, name, obj, options, bases):
    """Names only those base classes that readers can use, in place of private ones between."""
    if any(is_private(base) for base in bases):
        bases[:] = [each for each in obj.__mro__[1:] if not is_private(each)][:1]


def is_private(base):
    """Returns true for classes that have no page."""
    name = getattr(base, "__name__", "")
    return name.startswith("_") or name in PARTS


def signature_of_wrapper(app, what, name, obj, options, signature, return_annotation):
    """Returns the arguments of a wrapper. Its ``__new__``, which autodoc takes, hides them."""
    if what != "class" or not issubclass(obj, CompilerEnvWrapper):
        return None
    own = inspect.signature(obj.__init__, bound_method=True)
    return inspect.stringify_signature(own, unqualified_typehints=True), None


@cache
def titles_of(app):
    """Returns the table of contents of each page with its title and the pages below alone."""
    tocs = {name: toc.deepcopy() for name, toc in app.env.tocs.items()}
    for toc in tocs.values():
        for entry in toc.children:
            if len(entry) > 1:
                entry[1][:] = [*entry.findall(addnodes.toctree)]
    return tocs


def navigate_by_titles(app, pagename, templatename, context, doctree):
    """Makes the tree of all pages from their titles.

    The theme wants nothing else. Sphinx would copy all headings and names of all pages for each
    page.
    """
    make_tree = context.get("toctree")

    def make_tree_of_titles(**options):
        whole, app.env.tocs = app.env.tocs, titles_of(app)
        try:
            return make_tree(**options)
        finally:
            app.env.tocs = whole

    if make_tree is not None:
        context["toctree"] = make_tree_of_titles


def setup(app):
    """Connects the functions above."""
    app.connect("html-page-context", navigate_by_titles, priority=400)  # The theme has 500.
    app.connect("autodoc-process-bases", without_private_bases)
    app.connect("autodoc-process-signature", signature_of_wrapper)
