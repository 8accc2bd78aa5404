"""The equation map names code and tests that exist, and covers the equations of the paper."""

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "equation-map.md").read_text()
ROWS = re.findall(r"^\| `(\w+)` \| [^|]+ \| `([\w.:]+)` \| `([\w/.:]+)` \|$", PAGE, flags=re.MULTILINE)
PAPER = {
    *("pde", "mlp", "loss", "residual", "loss_terms", "evolution_integral_form", "error_propagation"),
    *("integral_feature", "cinnet_layer", "monomial_attention", "left_rectangle", "errordef", "ac", "kdv", "ch"),
    *("ac2d", "periodic_embedding_1d", "periodic_embedding_2d", "temporal_residual_loss", "temporal_loss"),
    *("temporal_weights", "causal_loss"),
}


def test_every_equation_of_the_paper_is_on_the_page():
    assert {label for label in PAPER if f"`{label}`" in PAGE} == PAPER
    assert {row[0] for row in ROWS} <= PAPER


@pytest.mark.parametrize(("label", "code", "test"), ROWS)
def test_code_names_the_equation_and_the_test_exists(label, code, test):
    module_name, _, qualified_name = code.partition(":")
    target = importlib.import_module(module_name)
    for name in filter(None, qualified_name.split(".")):
        target = getattr(target, name)
    assert re.search(rf"Eqs?\. .*\b{label}\b", target.__doc__ or ""), f"{code} does not name Eq. {label}"

    path, _, function = test.partition("::")
    defined = {
        node.name for node in ast.walk(ast.parse((ROOT / path).read_text())) if isinstance(node, ast.FunctionDef)
    }
    assert function in defined
