# Written by `python -m penstock.api.generate`.
from penstock.client.compatibility import as_bytes as as_bytes
from penstock.client.compatibility import as_text as as_str
from penstock.client.compatibility import as_str_any as as_str_any
from penstock.client.compatibility import as_text as as_text
from penstock.client.compatibility import bytes_or_text_types as bytes_or_text_types
from penstock.client.compatibility import complex_types as complex_types
from penstock.client.compatibility import control_flow_v2_enabled as control_flow_v2_enabled
from penstock.client.compatibility import dimension_at_index as dimension_at_index
from penstock.client.compatibility import dimension_value as dimension_value
from penstock.client.compatibility import disable_v2_behavior as disable_control_flow_v2
from penstock.client.compatibility import disable_v2_behavior as disable_eager_execution
from penstock.client.compatibility import disable_v2_behavior as disable_tensor_equality
from penstock.client.compatibility import disable_v2_behavior as disable_v2_behavior
from penstock.client.compatibility import disable_v2_behavior as disable_v2_tensorshape
from penstock.client.compatibility import enable_control_flow_v2 as enable_control_flow_v2
from penstock.client.compatibility import enable_eager_execution as enable_eager_execution
from penstock.client.compatibility import enable_v2_behavior as enable_v2_behavior
from penstock.client.compatibility import executing_eagerly as executing_eagerly
from penstock.client.compatibility import forward_compatibility_horizon as forward_compatibility_horizon
from penstock.client.compatibility import forward_compatible as forward_compatible
from penstock.client.compatibility import integral_types as integral_types
from penstock.client.compatibility import op_scope as op_scope
from penstock.client.compatibility import path_to_str as path_to_str
from penstock.client.compatibility import real_types as real_types
from penstock.compat import v1 as v1
from penstock.compat import v2 as v2

__all__ = [
    "as_bytes", "as_str", "as_str_any", "as_text", "bytes_or_text_types", "complex_types", "control_flow_v2_enabled",
    "dimension_at_index", "dimension_value", "disable_control_flow_v2", "disable_eager_execution",
    "disable_tensor_equality", "disable_v2_behavior", "disable_v2_tensorshape", "enable_control_flow_v2",
    "enable_eager_execution", "enable_v2_behavior", "executing_eagerly", "forward_compatibility_horizon",
    "forward_compatible", "integral_types", "op_scope", "path_to_str", "real_types", "v1", "v2"
]
