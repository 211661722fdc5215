import { Button as AriaButton, type ButtonProps as AriaProps } from 'react-aria-components';

export interface ButtonProps extends AriaProps {
  /** @default 'normal' */
  readonly variant?: 'normal' | 'primary' | 'danger' | 'plain';
}

export function Button({ variant = 'normal', ...props }: ButtonProps) {
  return <AriaButton {...props} className={`button ${variant}`} />;
}
