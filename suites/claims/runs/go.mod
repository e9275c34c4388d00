// The raw runs behind suites/claims/README.md. A module of its own, without packages, so
// that they are in no module's zip.
module github.com/stele-go/stele/suites/claims/runs

go 1.26.0
