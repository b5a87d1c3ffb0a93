"""Parameters of papermill as a cell of the language: papermill loads this by its entry point for engines."""

from papermill.engines import NBClientEngine
from papermill.translators import PythonTranslator, papermill_translators


class AgradTranslator(PythonTranslator):
    """Numbers, truths, texts and lists are written as in Python."""

    @classmethod
    def translate_float(cls, val: float) -> str:
        """A number; nan and inf have names in the language."""
        return repr(val)


papermill_translators.register("agrad", AgradTranslator)
engine = NBClientEngine
