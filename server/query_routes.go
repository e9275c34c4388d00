package server

import "slices"

// readRoutes has the endpoints that read.
var readRoutes = slices.Concat(queryRoutes, labelRoutes, indexRoutes, detectedRoutes, patternRoutes, formatRoutes, statusRoutes, deleteRoutes, tailRoutes, exportRoutes, sourceRoutes)
