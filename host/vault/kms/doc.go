// Package kms is a client of KMS plugins, by version 2 of the interface that Kubernetes' API server has for them.
//
//	data key --Wrap--> WrappedKey, which records carry --Unwrap--> data key
//
// A plugin never sees a Secret: it encrypts and decrypts the data keys that seal Secrets. The package holds a plugin to
// the limits that Kubernetes states for its answers. It keeps no connection and no key, so that a plugin which comes back,
// also with another socket of the same name, is found by the next call.
//
// Start reading at Plugin in plugin.go.
package kms
