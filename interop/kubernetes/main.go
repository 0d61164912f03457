// Reads Kubernetes manifests as an API server reads them, with Kubernetes' own types: an unknown key, a key given twice or a
// value of a wrong type is an error. The server's further checks of values are covered by tests/kubernetes.
//
//	kubernetes FILE...    YAML or JSON, several documents per file
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"bufio"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Rejected by every server: if it passes here, nothing is being checked.
const wrong = `{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x"}, "spec": {"paralellism": 2}}`

func main() {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, batchv1.AddToScheme, corev1.AddToScheme, rbacv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			fail("the types cannot be registered: %v", err)
		}
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	if _, _, err := decoder.Decode([]byte(wrong), nil, nil); !runtime.IsStrictDecodingError(err) {
		fail("a Job with a misspelt key passed: %v", err)
	}
	if len(os.Args) < 2 {
		fail("usage: kubernetes FILE...")
	}
	bad := false
	for _, path := range os.Args[1:] {
		objects, err := check(decoder, path)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", path, err)
			bad = true
			continue
		}
		fmt.Printf("%s: %d objects\n", path, objects)
	}
	if bad {
		os.Exit(1)
	}
}

// Number of objects in a file.
func check(decoder runtime.Decoder, path string) (int, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	objects := 0
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return objects, err
		}
		json, err := yaml.ToJSON(document)
		if err != nil {
			return objects, err
		}
		if string(json) == "null" {
			// Only comments.
			continue
		}
		// The document itself, not its JSON: duplicate keys are visible only there.
		if _, _, err := decoder.Decode(document, nil, nil); err != nil {
			return objects, fmt.Errorf("object %d: %w", objects+1, err)
		}
		objects++
	}
	if objects == 0 {
		return 0, errors.New("holds no object")
	}
	return objects, nil
}

func fail(format string, values ...any) {
	fmt.Fprintf(os.Stderr, "interop/kubernetes: "+format+"\n", values...)
	os.Exit(1)
}
