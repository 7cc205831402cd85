"""What programs for graphs use of tf.contrib.eager: functions of the graph, resource variables, specs."""

from penstock.api.namespace import open_namespace
from penstock.api.old_paths import add_inner_paths

open_namespace(__name__)
add_inner_paths(__name__, "python python.tfe")
