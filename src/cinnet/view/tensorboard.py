"""Records of a run to the tools that people watch training with."""

from pathlib import Path

from ..training.callbacks import TrainingView


class TensorBoardTracker:
    """Writes every number of a record as a scalar of that step; give it to `solve` as a callback.

    Needs the extra `tensorboard`: TensorBoardX writes the same files as TensorFlow's writer and is small.
    """

    def __init__(self, folder: str | Path):
        try:
            from tensorboardX import SummaryWriter
        except ImportError:
            raise ValueError(
                "TensorBoard logging needs an extra package; install it with: pip install 'cinnet[tensorboard]'"
            ) from None
        self._open = lambda: SummaryWriter(str(folder))
        self._writer = None

    def __call__(self, view: TrainingView) -> None:
        self._writer = self._writer or self._open()  # only now, so that a run that is refused leaves nothing
        for name, value in view.record.items():
            if name != "step":
                self._writer.add_scalar(name.replace(" ", "_"), value, view.step)
        self._writer.flush()
