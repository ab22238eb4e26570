"""``tfx.compat.v1.initializers``: initializers with TensorFlow 1's arguments."""

from __future__ import annotations

from tfx.core.lazy_namespaces import lazy_namespace

__getattr__, __dir__ = lazy_namespace(
    __name__,
    {
        "tfx.compat.v1.variables.initializer_classes": """
            constant=Constant glorot_normal=GlorotNormal glorot_uniform=GlorotUniform he_normal
            he_uniform identity=Identity lecun_normal lecun_uniform ones=Ones
            orthogonal=Orthogonal uniform_unit_scaling=UniformUnitScaling
            random_normal=RandomNormal random_uniform=RandomUniform
            truncated_normal=TruncatedNormal variance_scaling=VarianceScaling zeros=Zeros
        """,
        "tfx.compat.v1.variables.initialization": """
            global_variables=global_variables_initializer
            local_variables=local_variables_initializer variables=variables_initializer
            tables_initializer
        """,
    },
)
