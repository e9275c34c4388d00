package newfile

// WithoutUnnamed makes d act as on a file system without O_TMPFILE.
func WithoutUnnamed(d *Dir) { d.noUnnamed.Store(true) }
