// Package kms is a KMS plugin for tests: a real server of the interface that Kubernetes' API server has for such plugins,
// version 2, on a Unix socket. Its keys are in memory, so that a test can end it, bring it back, give it a new key, and
// have it answer as no plugin should.
//
// Start reading at Plugin in plugin.go.
package kms
