"""Names by which programs for the published library know parts of ours."""
