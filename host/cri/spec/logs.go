package spec

import (
	"path/filepath"
	"strconv"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// LogDir names the directory for the logs of a pod's containers, below the directory of all logs.
func LogDir(logs string, key node.Key, uid types.UID) string {
	return filepath.Join(logs, key.Namespace+"_"+key.Name+"_"+string(uid))
}

// LogPath returns the log of one attempt, relative to its pod's directory.
func LogPath(container string, attempt uint32) string {
	return filepath.Join(container, strconv.FormatUint(uint64(attempt), 10)+".log")
}
