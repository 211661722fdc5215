"""In each Python kernel: the data of tables and of charts, besides their texts and pictures."""

import os
import sys

from IPython.core.formatters import BaseFormatter
from traitlets import ObjectName, Unicode


class TableData(BaseFormatter):
    """Columns of a pandas DataFrame, with its first rows."""

    format_type = Unicode("e2b/data")
    print_method = ObjectName("_repr_e2b_data_")
    _return_type = (dict, str)
    max_rows = 1_000

    def __call__(self, obj):
        pandas = sys.modules.get("pandas")
        if pandas is None or not isinstance(obj, pandas.DataFrame):
            return super().__call__(obj)
        rows = obj.head(self.max_rows)
        # JSON has no NaN.
        columns = rows.astype(object).where(rows.notna(), None).to_dict(orient="list")
        return {
            str(name): [value.isoformat() if isinstance(value, pandas.Timestamp) else value for value in values]
            for name, values in columns.items()
        }


class ChartData(BaseFormatter):
    """What a figure of matplotlib shows."""

    format_type = Unicode("e2b/chart")
    print_method = ObjectName("_repr_e2b_chart_")
    _return_type = (dict, str)

    def __call__(self, obj):
        figure = sys.modules.get("matplotlib.figure")
        if figure is None or not isinstance(obj, figure.Figure):
            return super().__call__(obj)
        try:
            from e2b_charts import chart_figure_to_dict

            return chart_figure_to_dict(obj)
        except Exception:  # The picture shows it all the same.
            return None


def _show_link() -> None:
    """`os.getcwd` names the folder as shells and Go do: by $PWD, `/home/user`, while that leads to it."""
    real = os.getcwd

    def getcwd() -> str:
        at, shown = real(), os.environ.get("PWD", "")
        return shown if os.path.isabs(shown) and os.path.realpath(shown) == at else at

    os.getcwd = getcwd


def load_ipython_extension(shell):
    _show_link()
    for formatter in (TableData, ChartData):
        made = formatter(parent=shell.display_formatter)
        shell.display_formatter.formatters[made.format_type] = made
    try:
        from PIL import ImageShow
    except ImportError:
        return
    # Before programs of a desktop, which find no display.
    ImageShow.register(ImageShow.IPythonViewer, order=0)
