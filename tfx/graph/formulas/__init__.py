"""Mathematics for every builder: functions over ``graph.ops.Ops``, in eager code and in passes."""
