import { Button as AriaButton, type ButtonProps as AriaProps } from 'react-aria-components';

export interface ButtonProps extends AriaProps {
  /** A further class. */
  readonly className?: string;
  /** @default 'normal' */
  readonly variant?: 'normal' | 'primary' | 'danger' | 'plain';
}

export function Button({ variant = 'normal', className = '', ...props }: ButtonProps) {
  return <AriaButton {...props} className={`button ${variant} ${className}`} />;
}
