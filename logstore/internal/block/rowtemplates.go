package block

import "errors"

// ErrNoTemplates reports a block of version 1, whose lines have no templates.
var ErrNoTemplates = errors.New("block: it is of version 1, which has no templates")

// RowTemplates are the templates of the rows of a block.
type RowTemplates struct {
	// Table has the templates of the block.
	Table []TemplateRows
	// Rows has the index in Table of the template of each row.
	Rows []uint16
}

// RowTemplates decodes which template each row of the open block has, and nothing else. The
// result is valid until the next Open. The error wraps ErrDamaged, or is ErrNoTemplates.
func (d *Decoder) RowTemplates() (RowTemplates, error) {
	if d.decoding == nil {
		return RowTemplates{}, errNotOpen
	}
	v := &d.version2
	if d.decoding != v {
		return RowTemplates{}, ErrNoTemplates
	}
	if err := v.openRows(); err != nil {
		return RowTemplates{}, err
	}
	return RowTemplates{v.table, v.rowsOf}, nil
}
