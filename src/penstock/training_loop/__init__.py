"""Sessions that survive faults, what runs beside their steps, and loops over them (section 4.7; TF: tf.train)."""
