package record

func powers() map[string]string { return nil }
