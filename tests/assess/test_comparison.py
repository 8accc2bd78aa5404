import numpy as np
import pytest

from cinnet.assess.comparison import disagreement


def test_disagreement_is_the_largest_distance():
    a, b, c = np.array([3.0, 4.0]), np.array([3.0, 4.5]), np.array([3.0, 3.0])
    assert disagreement(a, b, c) == pytest.approx(1.5 / np.hypot(3.0, 4.5))
    with pytest.raises(ValueError, match="at least two"):
        disagreement(a)
