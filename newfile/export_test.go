package newfile

// WithoutUnnamed has d believe that its file system has no O_TMPFILE.
func WithoutUnnamed(d *Dir) { d.noUnnamed.Store(true) }
