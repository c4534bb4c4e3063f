"""Legacy programs that a grammar writes: what each means is known, and each meaning is spelled in many ways."""
