"""The user's own files: graphs in, tables and smaller graphs out."""

from sgat.config import FileOptions
from sgat.data.files.data_tables import prediction_table
from sgat.data.files.encoding import Encoding, FeatureColumn
from sgat.data.files.export import convert, pruned_table, with_columns, write_pruned
from sgat.data.files.read import (
    FileGraph,
    from_node_data,
    from_tables,
    open_graph,
    read_graph,
)
from sgat.data.files.write import write_graph, write_table

__all__ = [
    "Encoding",
    "FeatureColumn",
    "FileGraph",
    "FileOptions",
    "convert",
    "from_node_data",
    "from_tables",
    "open_graph",
    "prediction_table",
    "pruned_table",
    "read_graph",
    "with_columns",
    "write_graph",
    "write_pruned",
    "write_table",
]
