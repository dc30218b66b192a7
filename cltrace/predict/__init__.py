"""What launches and transfers should cost: calibration, models, and how well they hold."""
