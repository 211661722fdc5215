import type { CatalogueImage } from '../ports/images.ts';

/**
 * The catalogue of an installation that names none: each has its Dockerfile in `images/`. No registry is asked for references of `localhost`, so nobody else's image is ever
 * taken for one that was not built.
 */
export const SHIPPED_IMAGES: readonly CatalogueImage[] = [
  {
    name: 'multi',
    reference: 'localhost/porthole/multi:1',
    description: 'Python, Node, Go, Ruby, C and C++',
    languages: ['python', 'javascript', 'typescript', 'go', 'ruby', 'c', 'c++'],
    resources: {},
  },
  {
    name: 'node',
    reference: 'localhost/porthole/node:1',
    description: 'Node with npm',
    languages: ['javascript', 'typescript'],
    resources: {},
  },
  {
    name: 'python',
    reference: 'localhost/porthole/python:1',
    description: 'Python with pip and venv',
    languages: ['python'],
    resources: {},
  },
];
