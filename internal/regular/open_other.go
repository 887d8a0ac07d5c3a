//go:build !unix

package regular

const unwaiting = 0
