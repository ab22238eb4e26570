"""``tfx.compat.v1.saved_model``: saving and loading models."""

from __future__ import annotations

from tfx.core.lazy_namespaces import lazy_namespace

__getattr__, __dir__ = lazy_namespace(
    __name__,
    {
        "tfx.compat.v1.files.saved_models": "simple_save simple_load",
        "tfx.saved_model.load": "load_v2=load",
        "tfx.compat.v1.files.saved_model_builder": """
            Builder build_signature_def build_tensor_info classification_signature_def
            contains_saved_model get_tensor_from_tensor_info is_valid_signature load
            maybe_saved_model_directory=contains_saved_model predict_signature_def
            regression_signature_def builder loader signature_constants signature_def_utils
            tag_constants utils
        """,
    },
    others=("tfx.saved_model",),
)
