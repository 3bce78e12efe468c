"""The command `wcore-chat`: on the full screen, or by lines where there is none."""
