// Package openapi holds the description of the HTTP API.
package openapi
