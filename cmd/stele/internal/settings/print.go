package settings

import (
	"fmt"
	"io"
)

// Print writes the settings as a file that Load reads, each with its meaning.
func (s *Settings) Print(w io.Writer) error {
	for i, of := range All() {
		if i > 0 {
			if _, err := fmt.Fprintln(w); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintf(w, "# %s\n%s: %s\n", of.Help, of.Name, of.format(s)); err != nil {
			return err
		}
	}
	return nil
}
