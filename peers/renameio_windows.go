package peers

import "github.com/stele-go/stele/suites/replace"

// renameioWays is empty: renameio does not exist on Windows, where it could
// not keep its word.
func renameioWays() []replace.Way { return nil }
