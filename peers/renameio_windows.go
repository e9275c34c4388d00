package peers

import "github.com/stele-go/stele/suites/replace"

// renameioWays is empty: renameio does not support Windows, where it could not keep its
// promise.
func renameioWays() []replace.Way { return nil }
