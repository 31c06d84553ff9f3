"""What is different where certificates are verified in a browser, without NumPy."""
