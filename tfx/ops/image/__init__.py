"""``tfx.image``: colours, geometry, boxes, sampling."""
