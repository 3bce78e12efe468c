"""What every interactive host needs, without a widget: it draws and reads nothing."""
