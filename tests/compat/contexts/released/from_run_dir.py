"""Import this before `determined`'s names: the released library in a task without a container.

It reads its task's files from /run/determined, a path in its code; without a container they lie below $DET_RUN_DIR. So its
module of these files is loaded once more, with that path in place of the other.
"""
import os
import pathlib

import determined
from determined import _info

_path = pathlib.Path(_info.__file__)
exec(compile(_path.read_text().replace("/run/determined", os.environ["DET_RUN_DIR"]), str(_path), "exec"), vars(_info))
determined.get_cluster_info = _info.get_cluster_info
