package restic

// runs says yes: a lock is then held until it is old.
func runs(int) bool { return true }
